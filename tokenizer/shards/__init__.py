"""Training-ready token shards: documents encoded, put in order, and written in the formats that trainers read."""
