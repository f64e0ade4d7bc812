# Everything here works on a fresh checkout: what is missing is brought into .venv, or named with its remedy.

.DEFAULT_GOAL := help
.PHONY: run test lint types races drill bench browser requirements help

run: ## Start everything with the demo on http://127.0.0.1:8000; Ctrl-C stops it
	@requirements/install embedded
	@exec .venv/bin/python manage.py up --demo

test: ## Run lint, types, import contracts and the whole suite
	@requirements/install dev
	@.ci/browser
	@.ci/checks

lint: ## Check style, formatting, imports and templates
	@requirements/install dev
	@.ci/checks lint imports templates

types: ## Check types
	@requirements/install dev
	@.ci/checks types

races: ## Run the race tests three times, in three orders
	@requirements/install dev
	@.ci/checks races

drill: ## Run the recovery drills with real processes on throwaway services
	@requirements/install embedded
	@.venv/bin/python manage.py drill

bench: ## Measure against the anchors and print a table of ratios
	@requirements/install bench
	@.venv/bin/python -m tests.bench

browser: ## Run the browser tests alone
	@requirements/install dev
	@.ci/browser
	@.venv/bin/pytest tests/browser

requirements: ## Write the requirement sets anew from pyproject.toml (needs uv)
	@requirements/export.py

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
