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
        for (index, domain) in LogDomain.all.enumerated() {
            switch Self.part(index + 1, of: packed) {
            case Self.unset: break
            case Self.off: domains.updateValue(nil, forKey: domain)
            case let place: domains[domain] = .some(LogLevel.allCases[place])
            }
        }
        return domains
    }

    /// Whether a line of a level is written. O(1).
    func writes(_ level: LogLevel, about domain: LogDomain) -> Bool {
        let packed = packed.load(ordering: .relaxed)
        let own = Self.part((LogDomain.all.firstIndex(of: domain) ?? -1) + 1, of: packed)
        let lowest = own == Self.unset ? Self.part(0, of: packed) : own
        return level.place >= lowest
    }

    private static let off = LogLevel.allCases.count
    private static let unset = 15

    private static func part(_ index: Int, of packed: UInt64) -> Int { Int(packed >> UInt64(4 * index) & 15) }

    private static func packed(_ level: LogLevel, _ domains: [LogDomain: LogLevel?]) -> UInt64 {
        LogDomain.all.enumerated().reduce(UInt64(level.place)) { packed, entry in
            let place = domains[entry.element].map { $0.map(\.place) ?? off } ?? unset
            return packed | UInt64(place) << UInt64(4 * (entry.offset + 1))
        }
    }
}
