-- Tells everybody who uses the store.
-- KEYS: the announcements; their number. ARGV: the text, how many are remembered.
local number = redis.call('INCR', KEYS[2])
redis.call('ZADD', KEYS[1], number, string.format('%.0f', number) .. ':' .. ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - tonumber(ARGV[2]))
return number
