internal import SluiceModel
internal import SluiceWire

/// The list of its members that a client sends for a subscription, while it comes in.
final class Comparison {
    /// For how many members there is room: as many as the client has announced. Where it did not, since the server has
    /// interrupted the subscription, as many as it has listed.
    private(set) var announcedCount: Int
    private let isAnnounced: Bool
    /// What was listed; nil once it is more than the session has room for, or cannot be compared. The client then is
    /// sent everything.
    private(set) var known: KnownMembers? = KnownMembers()

    /// - Parameter isAnnounced: whether the client has said how many they are.
    init(announcedCount: Int, isAnnounced: Bool) {
        self.announcedCount = announcedCount
        self.isAnnounced = isAnnounced
    }

    /// Takes a part of the list.
    ///
    /// - Parameter room: for how many further members the session has room.
    /// - Throws: ``SessionEnd`` when it is not a list of members, or longer than announced.
    func add(_ members: ObjectBlock, schema: Schema, room: Int) throws(SessionEnd) {
        if let problem = Self.problem(with: members, schema: schema) {
            throw SessionEnd(.protocolViolation, problem, action: .retry)
        }
        known?.add(members)
        guard let count = known?.count, count > announcedCount else { return }
        guard !isAnnounced else {
            throw SessionEnd(
                .protocolViolation, "more members than the \(announcedCount) announced", action: .retry)
        }
        if count - announcedCount <= room { announcedCount = count } else { known = nil }
    }

    /// Forgets what was listed, since the client may lack properties of what it lists that its user may read by now. The
    /// client is sent everything once its list is complete.
    func giveUp() { known = nil }

    private static func problem(with members: ObjectBlock, schema: Schema) -> String? {
        guard members.groups.allSatisfy({ $0.role != .member && $0.width == 0 }) else {
            return "members are listed as roots or linked objects, without properties"
        }
        return members.problem(namingObjectsOf: schema)
    }
}
