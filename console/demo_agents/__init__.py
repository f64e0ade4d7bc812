"""The scripted agents of the demo: separate processes that know the console by its HTTP API and nothing else.

Imports the standard library and httpx only: whatever works here works for an agent in any language.
"""
