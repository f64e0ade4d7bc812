"""The tables of the endpoints compared with."""

from django.db import models


class Record(models.Model):
    objects: models.Manager["Record"]

    version = models.IntegerField(default=1)
    fields = models.JSONField(default=dict)

    class Meta:
        app_label = "anchors"
        db_table = "bench_record"


class Entry(models.Model):
    objects: models.Manager["Entry"]

    record = models.ForeignKey(Record, on_delete=models.PROTECT)
    version = models.IntegerField()
    body = models.JSONField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "anchors"
        db_table = "bench_record_entry"


class Command(models.Model):
    objects: models.Manager["Command"]

    record = models.ForeignKey(Record, on_delete=models.PROTECT)
    command_id = models.CharField(max_length=200, unique=True)
    answer = models.JSONField()

    class Meta:
        app_label = "anchors"
        db_table = "bench_record_command"
