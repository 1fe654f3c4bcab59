"""A model as a service that answers, learns from returning labels, and shows how it is doing."""
