-- Puts a message into the inbox of a run, and wakes its holder.
-- KEYS: the inbox; the run. ARGV: the message, milliseconds that the inbox lives at least, the prefix of the holders' channels.
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
redis.call('RPUSH', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
local r = redis.call('HMGET', KEYS[2], 'n', 'l')
if r[1] and r[2] and tonumber(r[2]) > now then
  redis.call('PUBLISH', ARGV[3] .. r[1], '1')
end
return 'done'
