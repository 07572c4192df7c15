//! The profiles that backends hold before a round, for the profile services.
//!
//! Each profile follows from its number alone, so all backends hold the same profiles, byte by byte,
//! in each run.

/// Cities of the profiles. The number of a profile selects its city.
const CITIES: [&str; 7] = ["Athens", "Berlin", "Cairo", "Lima", "Oslo", "Quito", "Tokyo"];

/// Token that each client of a profile service sends. `targets/schema.sql` has the same.
pub(super) const TOKEN: &str = "loadgen-token";

/// Number of profiles that one run of [`LUA`] makes. Redis serves nobody else meanwhile.
pub(super) const AT_A_TIME: u64 = 10_000;

/// Number of keys in Redis for each profile.
pub(super) const KEYS_EACH: u64 = 3;

/// Script that makes the profiles from the number in its first argument to that in its second. The
/// third argument has the cities, separated by commas. The text is that of PostgreSQL's `jsonb`. The
/// keys have twelve digits, as `redis-benchmark` asks for them.
pub(super) const LUA: &str = r#"
local cities = {}
for city in string.gmatch(ARGV[3], '[^,]+') do cities[#cities + 1] = city end
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local number = string.format('%d', n)
  local bio = string.rep('Profile ' .. number .. '. ', 16)
  redis.call('SET', string.format('profile:%012d', n), '{"id": ' .. number .. ', "bio": "' .. bio .. '", "city": "' ..
    cities[n % #cities + 1] .. '", "name": "User ' .. number .. '", "email": "user' .. number ..
    '@example.org", "nickname": "nick' .. number .. '", "username": "user' .. number .. '"}')
  redis.call('SET', 'profile:nickname:nick' .. number, number)
  redis.call('SET', 'profile:username:user' .. number, number)
end
"#;

/// Returns the third argument of [`LUA`].
pub(super) fn cities() -> String {
    CITIES.join(",")
}

/// Returns the statement that inserts the profiles of the numbers from 1 to `wanted` into
/// PostgreSQL's table `profiles`.
pub(super) fn insert(wanted: u64) -> String {
    format!(
        "INSERT INTO profiles (id, profile) \
         SELECT n, jsonb_build_object('id', n, 'bio', repeat('Profile ' || n || '. ', 16), \
         'city', ('{{{}}}'::text[])[n % {} + 1], 'name', 'User ' || n, \
         'email', 'user' || n || '@example.org', 'nickname', 'nick' || n, 'username', 'user' || n) \
         FROM generate_series(1, {wanted}) AS n",
        cities(),
        CITIES.len()
    )
}
