"""The trial of the indexer: a news server, articles, accidents, and the comparison."""
