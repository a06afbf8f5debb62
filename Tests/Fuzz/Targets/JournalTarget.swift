import SluiceStorage

/// Groups of the journal, which another engine may have written: decoded for what they do, and for who wrote what.
enum JournalTarget {
    static func run(_ bytes: [UInt8]) {
        guard let group = try? JournalGroup.decode(bytes) else { return }
        let again = try? JournalGroup.decode(group.encoded())
        precondition(again?.encoded() == group.encoded(), "\(group) became \(String(describing: again))")
        let outline = try? JournalGroup.decode(bytes, wantsValues: false)
        precondition(outline?.steps.count == group.steps.count)
    }
}
