-- How many records of one kind all owners have at most.
-- KEYS: the place where it is noted when they go.
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZCARD', KEYS[1])
