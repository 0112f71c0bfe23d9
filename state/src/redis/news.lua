-- What was announced after a number.
-- KEYS: the announcements; their number. ARGV: the number.
local latest = tonumber(redis.call('GET', KEYS[2])) or 0
local from = tonumber(ARGV[1])
local missed = 0
if from > latest then
  -- The store has lost what it knew.
  from = 0
  missed = 1
end
local said = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', from), '+inf')
if #said < latest - from then
  missed = 1
end
return {latest, said, missed}
