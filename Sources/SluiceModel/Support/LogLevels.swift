internal import Synchronization

/// The levels of a log while a program runs. A sink that is made with them heeds each change at once.
public final class LogLevels: Sendable {
    /// Four bits for each domain, and for the level of domains that have none of their own: a ``LogLevel``'s place in
    /// its order, ``off``, or ``unset``.
    private let packed: Atomic<UInt64>

    /// - Parameters:
    ///   - level: the lowest level that is written, of domains that have none of their own.
    ///   - domains: the lowest levels of single domains; nil for a domain of which nothing is written.
    public init(_ level: LogLevel, domains: [LogDomain: LogLevel?] = [:]) {
        packed = Atomic(Self.packed(level, domains))
    }

    /// Sets the levels. Any thread may call it.
    ///
    /// - Parameters:
    ///   - level: the lowest level that is written, of domains that have none of their own.
    ///   - domains: the lowest levels of single domains; nil for a domain of which nothing is written.
    public func set(_ level: LogLevel, domains: [LogDomain: LogLevel?] = [:]) {
        packed.store(Self.packed(level, domains), ordering: .relaxed)
    }

    /// The level of domains that have none of their own.
    public var level: LogLevel { LogLevel.allCases[Self.part(0, of: packed.load(ordering: .relaxed))] }

    /// The levels of the domains that have one of their own; nil for a domain of which nothing is written.
    public var domains: [LogDomain: LogLevel?] {
        let packed = packed.load(ordering: .relaxed)
        var domains: [LogDomain: LogLevel?] = [:]
        for domain in LogDomain.all {
            switch Self.part(Self.place(of: domain), of: packed) {
            case Self.unset: break
            case Self.off: domains.updateValue(nil, forKey: domain)
            case let place: domains[domain] = .some(LogLevel.allCases[place])
            }
        }
        return domains
    }

    /// Where the level of a domain is; that of all others for a domain that has none.
    static func place(of domain: LogDomain) -> Int { (LogDomain.all.firstIndex(of: domain) ?? -1) + 1 }

    /// Whether a line of a level is written. O(1).
    ///
    /// - Parameter place: that of the line's domain.
    func writes(_ level: LogLevel, at place: Int) -> Bool {
        let packed = packed.load(ordering: .relaxed)
        let own = Self.part(place, of: packed)
        let lowest = own == Self.unset ? Self.part(0, of: packed) : own
        return level.place >= lowest
    }

    private static let off = LogLevel.allCases.count
    private static let unset = 15

    private static func part(_ index: Int, of packed: UInt64) -> Int { Int(packed >> UInt64(4 * index) & 15) }

    private static func packed(_ level: LogLevel, _ domains: [LogDomain: LogLevel?]) -> UInt64 {
        LogDomain.all.reduce(UInt64(level.place)) { packed, domain in
            let own = domains[domain].map { $0.map(\.place) ?? off } ?? unset
            return packed | UInt64(own) << UInt64(4 * place(of: domain))
        }
    }
}
