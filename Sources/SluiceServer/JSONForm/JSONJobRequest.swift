internal import SluiceModel
internal import SluiceWire

/// What a client in the JSON form wants done about an object that a job has given up.
package struct JSONJobRequest: Hashable, Sendable {
    package enum Job: Hashable, Sendable {
        case queue(String)
        case consumer(String)
    }

    package let job: Job
    package let className: String
    /// The key as text.
    package let key: String
    /// Whether the object is tried again; else nobody is told of it any more.
    package let isRetried: Bool

    /// The question that asks for it.
    ///
    /// - Returns: nil if no object can have the key.
    func question(_ schema: Schema) -> ClientMessage.JobCall.Question? {
        guard let declared = schema.classSchema(named: className), let key = declared.key(key) else { return nil }
        let space =
            switch job {
            case .queue(let name): QueueClaim.deadSpace(name)
            case .consumer(let name): ConsumerState.deadSpace(name)
            }
        return .settle(space: space, Identity(className: declared.name, key: key), isRetried: isRetried)
    }
}
