/// The writes of one thing that no write of a later version overrides: versions ascend, stamps descend.
package struct StampStack: Sendable {
    private var stamps: [WriteStamp] = []

    package init() {}

    /// Appends a write, whose version must be later than all before. Amortised O(1).
    package mutating func push(_ stamp: WriteStamp) {
        while let last = stamps.last, !(stamp < last) { stamps.removeLast() }
        stamps.append(stamp)
    }

    /// The latest by stamp of the writes after a version. O(log n).
    func latest(since version: UInt64) -> WriteStamp? {
        let position = stamps.firstPosition { $0.version > version }
        return position < stamps.count ? stamps[position] : nil
    }

    /// Whether another client than one wrote after a version, and later than a stamp. The stamps of a client ascend, so
    /// two neighbours are of different clients, and O(log n) suffices.
    func contains(otherThan client: UInt64, since version: UInt64, laterThan earliest: WriteStamp? = nil) -> Bool {
        stamps[stamps.firstPosition { $0.version > version }...].contains { stamp in
            stamp.clientID != client && earliest.map { $0 < stamp } ?? true
        }
    }
}
