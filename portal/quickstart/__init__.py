"""A whole portal on one machine, for evaluation: PostgreSQL, Valkey, web, worker and agent under one supervisor."""
