-- The records of one kind of one owner.
-- KEYS: the bytes of the owner. ARGV: the prefix of the owner's keys, the letter of the kind and a colon.
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
local all = redis.call('HGETALL', KEYS[1])
local found = {}
for at = 1, #all, 2 do
  if string.sub(all[at], 1, #ARGV[2]) == ARGV[2] then
    local key = ARGV[1] .. all[at]
    local r = redis.call('HMGET', key, 'v', 't', 'l', 'n')
    if r[1] and not r[2] then
      local lease = 0
      if r[3] then
        lease = math.max(tonumber(r[3]) - now, 0)
      end
      found[#found + 1] = {
        string.sub(all[at], #ARGV[2] + 1), r[1], redis.call('HSTRLEN', key, 'b'), redis.call('PTTL', key), r[4] or '', lease
      }
    end
  end
end
return found
