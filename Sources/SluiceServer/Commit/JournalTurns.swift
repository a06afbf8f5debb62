/// Whether an engine takes turns at the journal. It does for its next groups after it was overtaken, so that others who
/// append all the time do not overtake it for ever; an engine to which that does not happen waits for nobody.
///
/// It lives as long as the engine, and belongs to the same thread.
final class JournalTurns {
    /// For how many groups an engine takes turns after it was overtaken.
    static let groupCount = 8

    private var groupsLeft = 0

    var areTaken: Bool { groupsLeft > 0 }

    /// Notes that another engine was first.
    func noteConflict() { groupsLeft = Self.groupCount }

    /// Notes that what was to be appended was.
    func noteGroup() { groupsLeft = max(0, groupsLeft - 1) }
}
