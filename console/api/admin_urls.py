"""The addresses of what admins manage: policy, people, agents, destinations, halt, confirmations."""

from django.urls import path

from console.api import agents, confirmations, destinations, halt, people, policies

urlpatterns = [
    path("workflows/<slug:slug>/policy/", policies.PolicyView.as_view()),
    path("confirmations/", confirmations.ConfirmationsView.as_view()),
    path("confirmations/<str:waiting>/", confirmations.ConfirmationView.as_view()),
    path("halt/", halt.HaltView.as_view()),
    path("people/", people.PeopleView.as_view()),
    path("people/<str:username>/", people.PersonView.as_view()),
    path("agents/", agents.AgentsView.as_view()),
    path("agents/<str:name>/", agents.AgentView.as_view()),
    path("agents/<str:name>/tokens/", agents.AgentTokensView.as_view()),
    path("destinations/", destinations.DestinationsView.as_view()),
    path("destinations/<str:name>/", destinations.DestinationView.as_view()),
]
