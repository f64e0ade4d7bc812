"""What others do: a small Django project with the endpoints that benchmarks compare with."""
