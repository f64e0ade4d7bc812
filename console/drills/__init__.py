"""Recovery drills: real processes are killed, stopped and lied to, and both ledgers are compared afterwards."""
