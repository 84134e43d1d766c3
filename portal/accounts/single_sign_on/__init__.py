"""Sign-in at one identity provider (OpenID Connect), for people who were invited here, and proof of being there."""
