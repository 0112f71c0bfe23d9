-- How many records an owner has at most, of whatever kind, and of how many bytes: without a look at each.
-- KEYS: the bytes of the owner.
return {math.max(redis.call('HLEN', KEYS[1]) - 1, 0), math.max(tonumber(redis.call('HGET', KEYS[1], '+')) or 0, 0)}
