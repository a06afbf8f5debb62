internal import SluiceModel
internal import SluiceWire

/// Which sessions listen to which topics, and how much each may send. Nothing of it is stored.
struct MessageTopics {
    private var topics: [SessionID: Set<String>] = [:]
    private var listeners: [String: Set<SessionID>] = [:]
    /// How many messages a session has sent in the second that began then.
    private var sent: [SessionID: (second: Int64, count: Int)] = [:]

    /// Notes what a session listens to from now on, in place of all before.
    mutating func listen(_ id: SessionID, to names: [String]) {
        forgetTopics(of: id)
        guard !names.isEmpty else { return }
        topics[id] = Set(names)
        for name in names { listeners[name, default: []].insert(id) }
    }

    /// Forgets a session that has ended.
    mutating func close(_ id: SessionID) {
        forgetTopics(of: id)
        sent[id] = nil
    }

    private mutating func forgetTopics(of id: SessionID) {
        for name in topics.removeValue(forKey: id) ?? [] {
            listeners[name]?.remove(id)
            if listeners[name]?.isEmpty ?? false { listeners[name] = nil }
        }
    }

    /// Counts a message of a session.
    ///
    /// - Returns: false if the session has sent as many in this second as it may.
    mutating func charge(_ id: SessionID, now: Timestamp) -> Bool {
        let second = now.microseconds / 1_000_000
        var count = sent[id].flatMap { $0.second == second ? $0.count : nil } ?? 0
        count += 1
        sent[id] = (second, count)
        return count <= MessageLimits.rateMax
    }

    /// The sessions that listen to a topic, ascending, except one if it is given.
    func listeners(of topic: String, except id: SessionID? = nil) -> [SessionID] {
        (listeners[topic] ?? []).filter { $0 != id }.sorted()
    }
}
