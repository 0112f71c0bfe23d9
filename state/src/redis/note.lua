-- Notes when records of one kind go, in one place for all owners.
-- KEYS: the place. ARGV: for each record two: its key, and milliseconds until it goes (-1: it does not, -2: it is gone).
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
for at = 1, #ARGV, 2 do
  local left = tonumber(ARGV[at + 1])
  if left == -2 then
    redis.call('ZREM', KEYS[1], ARGV[at])
  else
    redis.call('ZADD', KEYS[1], left == -1 and '+inf' or string.format('%.0f', now + left), ARGV[at])
  end
end
-- The place goes with the last of them.
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if last[2] == 'inf' then
  redis.call('PERSIST', KEYS[1])
elseif last[2] then
  redis.call('PEXPIREAT', KEYS[1], last[2])
end
return 'done'
