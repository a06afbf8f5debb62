/// How large messages between clients may be, and how many topics a client may listen to.
package enum MessageLimits {
    /// The longest name of a topic, in bytes of UTF-8.
    package static let topicByteCountMax = 256
    /// The most topics that a session listens to.
    package static let topicCountMax = 256
    /// The largest payload, in bytes.
    package static let payloadByteCountMax = 16_384
    /// How many messages a session may send in a second.
    package static let rateMax = 100

    /// What is wrong with the name of a topic; nil if nothing is.
    package static func problem(withTopic topic: String) -> String? {
        let count = topic.utf8.count
        if count == 0 { return "a topic has a name" }
        guard count > topicByteCountMax else { return nil }
        return "the name of a topic has at most \(topicByteCountMax) bytes, not \(count)"
    }

    /// What is wrong with a set of topics; nil if nothing is.
    package static func problem(withTopics topics: [String]) -> String? {
        if topics.count > topicCountMax { return "a session listens to at most \(topicCountMax) topics" }
        return topics.lazy.compactMap(problem(withTopic:)).first
    }

    /// What is wrong with a message; nil if nothing is.
    package static func problem(withTopic topic: String, payload: [UInt8]) -> String? {
        if let problem = problem(withTopic: topic) { return problem }
        guard payload.count > payloadByteCountMax else { return nil }
        return "a message has at most \(payloadByteCountMax) bytes, not \(payload.count)"
    }
}
