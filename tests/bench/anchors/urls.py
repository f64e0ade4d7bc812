"""The endpoints compared with: the unsafe one that everybody writes first, and the safe one the ORM suggests."""

from django.db import transaction
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tests.bench.anchors.models import Command, Entry, Record


class CommandSerializer(serializers.Serializer):  # type: ignore[type-arg]
    id = serializers.CharField(max_length=200)
    name = serializers.CharField(max_length=100)
    params = serializers.JSONField()
    reason = serializers.CharField(max_length=4000)


class Unsafe(APIView):
    """Get, save, create; no transaction, no authentication, last writer wins."""

    def post(self, request: Request, number: int) -> Response:
        asked = CommandSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        record = Record.objects.get(pk=number)
        record.version += 1
        record.fields = {**record.fields, "contact_attempts": record.version}
        record.save()
        Entry.objects.create(record=record, version=record.version, body={"changes": record.fields})
        return Response({"version": record.version, "fields": record.fields}, status=201)


class Safe(APIView):
    """The same under a row lock, with a record of the command."""

    def post(self, request: Request, number: int) -> Response:
        asked = CommandSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        with transaction.atomic():
            record = Record.objects.select_for_update().get(pk=number)
            known = Command.objects.filter(command_id=asked.validated_data["id"]).first()
            if known is not None:
                return Response(known.answer)
            record.version += 1
            record.fields = {**record.fields, "contact_attempts": record.version}
            record.save()
            Entry.objects.create(record=record, version=record.version, body={"changes": record.fields})
            answer = {"version": record.version, "fields": record.fields}
            Command.objects.create(record=record, command_id=asked.validated_data["id"], answer=answer)
        return Response(answer, status=201)


urlpatterns = [path("unsafe/<int:number>/", Unsafe.as_view()), path("safe/<int:number>/", Safe.as_view())]
