"""An indexer of newsgroups on a real news server: an example of what pyleases is for."""
