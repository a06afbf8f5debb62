internal import SluiceModel
internal import SluiceStorage

/// What `sluice users list` prints: a line for each user, and for each id that is revoked and no user's.
struct UserList {
    let lines: [String]

    /// - Parameter now: the time, in microseconds since 1970.
    init(_ store: any UserStore, now: Int64) throws {
        let (users, dates, locks) = try store.read { (try $0.users(), try $0.allDates(), try $0.locks()) }
        let revocations = Dictionary(dates.map { ($0.name, $0.revokedUntil) }) { first, _ in first }
        let current = Dictionary(locks.filter { $0.until > now }.map { ($0.name, $0) }) { first, _ in first }
        let names = Set(users.map(\.user.name))
        var lines = users.map { user, loginCount in
            var parts = [user.name, "\(loginCount) \(GroupedNumber.noun(loginCount, "login"))"]
            if user.claims != "{}" { parts.append("claims \(user.claims)") }
            if let time = revocations[user.name] ?? nil { parts.append(Self.revoked(time)) }
            if let lock = current[user.name] {
                parts.append("locked until \(Self.time(lock.until)), \(lock.failureCount) wrong passwords")
            }
            return Self.line(parts)
        }
        for dates in dates where !names.contains(dates.name) {
            guard let time = dates.revokedUntil else { continue }
            lines.append(Self.line([dates.name, "no user", Self.revoked(time)]))
        }
        self.lines = lines
    }

    private static func revoked(_ time: Int64) -> String { "tokens up to \(Self.time(time)) revoked" }

    private static func time(_ microseconds: Int64) -> String { Timestamp(microseconds: microseconds).description }

    private static func line(_ parts: [String]) -> String {
        parts.map(DisplayText.harmless).joined(separator: "\t")
    }
}
