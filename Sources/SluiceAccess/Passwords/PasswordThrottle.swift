package import SluiceModel

/// Slows down those who guess passwords. For each account and each address five tries are free; each further one that
/// fails doubles the wait before the next, from a second to 15 minutes. It has no clock.
///
/// A try counts when it begins, so that many at once get no further than one after the other; one that succeeds is
/// taken back. What has not failed for 15 minutes is forgotten.
///
/// Memory is bounded: beyond the limit, the entry with the fewest failures goes. So a flood of made-up names displaces
/// itself, and not an account that is under attack.
package struct PasswordThrottle: Sendable {
    package static let freeTryCount = 5
    /// The longest wait, in microseconds.
    package static let waitMax: Int64 = 900_000_000

    private struct Entry: Sendable {
        var failureCount = 0
        var lastTryAt: Timestamp
    }

    private let entryCountMax: Int
    private var entries: [String: Entry] = [:]

    package var entryCount: Int { entries.count }

    package init(entryCountMax: Int = 100_000) { self.entryCountMax = entryCountMax }

    /// Begins a try.
    ///
    /// - Parameter keys: the account and the address, in names that cannot be confused.
    /// - Returns: nil if it may be made; else how long to wait, in microseconds.
    package mutating func begin(_ keys: [String], now: Timestamp) -> Int64? {
        let wait = keys.compactMap { self.wait($0, now: now) }.max()
        if let wait { return wait }
        for key in keys {
            var entry = current(key, now: now) ?? Entry(lastTryAt: now)
            entry.failureCount += 1
            entry.lastTryAt = now
            if entries[key] == nil, entries.count >= entryCountMax { dropLeast(now: now) }
            entries[key] = entry
        }
        return nil
    }

    /// Takes a try back that has succeeded, and forgets the account's failures. Those of the address stay, since its
    /// owner may have an account, too.
    package mutating func succeeded(account: String, address: String) {
        entries[account] = nil
        takeBack([address])
    }

    /// Forgets the failures of an account or an address.
    package mutating func forget(_ key: String) { entries[key] = nil }

    /// Until when no try of an account or an address is made, and how many have failed; nil if one may be made now.
    package func lock(of key: String, now: Timestamp) -> (until: Timestamp, failureCount: Int)? {
        guard let wait = wait(key, now: now), let entry = entries[key] else { return nil }
        return (Timestamp(microseconds: now.microseconds + wait), entry.failureCount)
    }

    /// Takes back a try that was not made after all.
    package mutating func takeBack(_ keys: [String]) {
        for key in keys {
            guard let count = entries[key]?.failureCount else { continue }
            if count > 1 { entries[key]?.failureCount = count - 1 } else { entries[key] = nil }
        }
    }

    private func current(_ key: String, now: Timestamp) -> Entry? {
        guard let entry = entries[key], !isOver(entry, now: now) else { return nil }
        return entry
    }

    private func isOver(_ entry: Entry, now: Timestamp) -> Bool {
        now.microseconds - entry.lastTryAt.microseconds >= Self.waitMax
    }

    private func wait(_ key: String, now: Timestamp) -> Int64? {
        guard let entry = current(key, now: now), entry.failureCount >= Self.freeTryCount else { return nil }
        let doublings = min(entry.failureCount - Self.freeTryCount, 20)
        let total = min(1_000_000 << Int64(doublings), Self.waitMax)
        let rest = total - (now.microseconds - entry.lastTryAt.microseconds)
        return rest > 0 ? rest : nil
    }

    /// Makes room for an entry: drops those that are over, or the one with the fewest failures.
    private mutating func dropLeast(now: Timestamp) {
        let over = entries.filter { isOver($0.value, now: now) }.keys
        for key in over { entries[key] = nil }
        guard over.isEmpty else { return }
        let least = entries.min {
            ($0.value.failureCount, $0.value.lastTryAt) < ($1.value.failureCount, $1.value.lastTryAt)
        }
        if let least { entries[least.key] = nil }
    }
}
