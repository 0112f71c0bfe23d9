-- Takes all messages out of an inbox.
-- KEYS: the inbox.
local all = redis.call('LRANGE', KEYS[1], 0, -1)
redis.call('DEL', KEYS[1])
return all
