internal import SluiceModel
package import SluiceStorage

/// A group of uploads after merging: redo data for the journal, and what the uploaders are to be told once the journal
/// has it.
package struct PreparedGroup {
    package let group: JournalGroup
    /// The group as the journal gets it; nil if all uploads were accepted earlier.
    package let record: JournalRecord?
    /// The head that the group was made for.
    package let head: JournalHead
    /// What merging has found out about the objects of the group.
    let known: KnownObjects
    let acknowledged: [SessionID: UInt64]
    let rejections: [CommittedGroup.Rejection]
    let createdInVain: [SessionID: [ObjectRef]]
    let supersededCount: Int
    let metCounts: [Int: Int]
}
