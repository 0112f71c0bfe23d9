-- How many records an owner has at most, of whatever kind: without a look at each.
-- KEYS: the bytes of the owner.
return math.max(redis.call('HLEN', KEYS[1]) - 1, 0)
