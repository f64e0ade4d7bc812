"""The stored workflow definitions: numbered, immutable revisions of the TOML text, loaded once a process.

The first revision of a workflow brings its first policy with it; from then on people edit the policy.
"""

from dataclasses import dataclass, replace

from runs.administration import By, authority_change, raise_epoch, store_policy
from runs.definitions import Workflow
from runs.errors import Fault, NotFound
from runs.loading import Loaded, load_workflow
from runs.models import WorkflowRevision

_loaded: dict[tuple[str, int], Workflow] = {}


def forget() -> None:
    """Drop every loaded definition. Needed only where a revision can be stored twice: after a rollback in a test."""
    _loaded.clear()


# ---- reading ---------------------------------------------------------------------------------------------


def definition(slug: str, revision: int) -> Workflow:
    """One revision of a workflow. Raises `NotFound`."""
    known = _loaded.get((slug, revision))
    if known is None:
        row = WorkflowRevision.objects.filter(slug=slug, revision=revision).first()
        if row is None:
            raise NotFound(f"There is no revision {revision} of {slug}.")
        known = _loaded[slug, revision] = replace(load_workflow(row.text).workflow, revision=revision)
    return known


def latest(slug: str) -> Workflow:
    """The newest revision of a workflow. Raises `NotFound`."""
    revision = _latest_revision(slug)
    if revision == 0:
        raise NotFound(f"There is no workflow {slug}.")
    return definition(slug, revision)


def list_workflows() -> list[Workflow]:
    """The newest revision of every workflow, by slug."""
    newest = WorkflowRevision.objects.order_by("slug", "-revision").distinct("slug")
    return [definition(slug, revision) for slug, revision in newest.values_list("slug", "revision")]


def list_revisions(slug: str) -> list[WorkflowRevision]:
    """Every stored revision of a workflow, the newest first."""
    return list(WorkflowRevision.objects.filter(slug=slug).order_by("-revision"))


def _latest_revision(slug: str) -> int:
    """The number of the newest revision; 0 where there is none."""
    numbers = WorkflowRevision.objects.filter(slug=slug).order_by("-revision").values_list("revision", flat=True)
    return numbers.first() or 0


# ---- storing ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stored:
    """The revision that holds a definition, whether it is a new one, and what in it is probably not meant."""

    slug: str
    revision: int
    created: bool
    warnings: tuple[Fault, ...]


def plan_workflow(text: str) -> Stored:
    """What `store_workflow` would do now. Writes nothing. Raises `DefinitionInvalid`."""
    return _plan(load_workflow(text))


def store_workflow(text: str, actor: str) -> Stored:
    """Store a definition as the next revision of its workflow; nothing when the newest one has the same bytes.

    Locks: the installation's row, then authority (exclusive) before it answers. Raises `DefinitionInvalid`.
    """
    loaded = load_workflow(text)
    planned = _plan(loaded)
    return _store(loaded, text, actor) if planned.created else planned


@authority_change
def _store(loaded: Loaded, text: str, actor: str) -> Stored:
    planned, workflow = _plan(loaded), loaded.workflow
    if not planned.created:
        return planned
    WorkflowRevision.objects.create(
        slug=workflow.slug,
        revision=planned.revision,
        title=workflow.title,
        sha256=workflow.sha256,
        text=text,
        stored_by=actor,
    )
    if planned.revision == 1:
        _store_first_policy(workflow, By(actor, "The first policy of the workflow.", without_second_person=True))
    return planned


def _store_first_policy(workflow: Workflow, by: By) -> None:
    store_policy(workflow.slug, workflow.policy, by)
    raise_epoch("workflow.created", workflow.slug, by, {"sha256": workflow.sha256})


def _plan(loaded: Loaded) -> Stored:
    workflow = loaded.workflow
    newest = _latest_revision(workflow.slug)
    is_new = not WorkflowRevision.objects.filter(slug=workflow.slug, revision=newest, sha256=workflow.sha256).exists()
    return Stored(workflow.slug, newest + is_new, is_new, loaded.warnings)
