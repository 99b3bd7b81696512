//! Numbers as AMD's hardware computes them: functions on bits.
