-- Says that a replica is there; the time in milliseconds, and the replicas that are there.
-- KEYS: the replicas. ARGV: milliseconds that they are listed; name and description, or nothing.
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
local life = tonumber(ARGV[1])
if ARGV[2] then
  redis.call('HSET', KEYS[1], ARGV[2], string.format('%.0f', now) .. ' ' .. ARGV[3])
  redis.call('PEXPIRE', KEYS[1], life)
end
local all = redis.call('HGETALL', KEYS[1])
local found = {}
for at = 1, #all, 2 do
  local seen, what = string.match(all[at + 1], '^(%d+) (.*)$')
  if now - tonumber(seen) < life then
    found[#found + 1] = {what, now - tonumber(seen)}
  elseif ARGV[2] then
    redis.call('HDEL', KEYS[1], all[at])
  end
end
return {now, found}
