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
    /// Whether a row of a queue becomes due again; else it is forgotten.
    package let isRetried: Bool

    /// The changes of records that do it.
    ///
    /// - Returns: nil if no object can have the key.
    func writes(_ schema: Schema) -> [JobWrite]? {
        guard let declared = schema.classSchema(named: className), let key = declared.key(key) else { return nil }
        let object = Identity(className: declared.name, key: key)
        let spaces: [String] =
            switch job {
            case .queue(let name):
                isRetried ? [QueueClaim.deadSpace(name), QueueClaim.space(name)] : [QueueClaim.deadSpace(name)]
            case .consumer(let name): [ConsumerState.deadSpace(name)]
            }
        return spaces.map { JobWrite(DeadLetterRecord.key(object, in: $0), .remove) }
    }
}
