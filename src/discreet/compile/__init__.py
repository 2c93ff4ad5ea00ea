"""From SQL to a plan, in pure functions, one stage a file: parse_sql, resolve, bound, calibrate, emit_sql."""
