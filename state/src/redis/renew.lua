-- Has a lease run out later, or ends it.
-- KEYS: the record. ARGV: the fence, milliseconds from now (0: it ends).
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
local lease = tonumber(ARGV[2])
local r = redis.call('HMGET', KEYS[1], 'v', 't', 'f')
if r[2] or not r[3] then
  return 'gone'
end
if r[3] ~= ARGV[1] then
  return 'fenced'
end
redis.call('HSET', KEYS[1], 'l', string.format('%.0f', now + lease))
if not r[1] then
  redis.call('PEXPIRE', KEYS[1], math.max(lease, 1))
end
return 'done'
