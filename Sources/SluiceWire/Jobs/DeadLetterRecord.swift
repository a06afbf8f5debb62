package import SluiceModel

/// An object that a job has given up, as a database keeps it.
package struct DeadLetterRecord: Sendable, Hashable {
    package var error: String
    package var attemptCount: UInt64
    package var time: Timestamp
    /// The version of the object that failed.
    package var version: UInt64

    /// The most bytes of an error's text that are kept.
    private static let textByteCountMax = 2_000
    private static let format: UInt8 = 1

    /// What names an object among the dead letters.
    package static func name(of className: String, _ key: ObjectKey) -> [UInt8] {
        var writer = ByteWriter()
        writer.string(className)
        key.encode(into: &writer)
        return writer.bytes
    }

    /// The key of an object's record in a space of dead letters.
    package static func key(_ object: Identity, in space: String) -> JobRecord.Key {
        .init(space: space, name: name(of: object.className, object.key))
    }

    /// Where it may be kept that an object was given up: in a space of dead letters; of a queue also among what was
    /// discarded, with less weight, if it is to be tried again.
    package static func keys(_ object: Identity, inSpace space: String, isRetried: Bool) -> [JobRecord.Key] {
        guard isRetried, space.hasPrefix(QueueClaim.deadPrefix) else { return [key(object, in: space)] }
        let queue = String(space.dropFirst(QueueClaim.deadPrefix.count))
        return [key(object, in: space), key(object, in: QueueClaim.discardedSpace(queue))]
    }

    /// The object that a name is of.
    package static func identity(of name: [UInt8]) throws(WireError) -> Identity {
        try ByteReader.decode(name, limits: .standard) { reader throws(WireError) in
            Identity(className: try reader.string(), key: try ObjectKey(from: &reader))
        }
    }

    package init(_ error: any Error, attemptCount: Int, time: Timestamp, version: UInt64) {
        self.error = String(decoding: "\(error)".utf8.prefix(Self.textByteCountMax), as: UTF8.self)
        self.attemptCount = UInt64(attemptCount)
        self.time = time
        self.version = version
    }
}

extension DeadLetterRecord: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.byte(Self.format)
        writer.string(error)
        writer.varint(attemptCount)
        writer.zigzag(time.microseconds)
        writer.varint(version)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        try reader.expectFormat(Self.format, of: "a dead letter")
        error = try reader.string()
        attemptCount = try reader.varint()
        time = Timestamp(microseconds: try reader.zigzag())
        version = try reader.varint()
    }
}

extension JobWrite {
    /// What settles that a job has given up an object.
    ///
    /// - Parameter isRetried: whether the object is tried again; else nobody is told of it any more.
    package static func settling(_ letter: JobRecord, isRetried: Bool) -> [JobWrite] {
        isRetried ? retrying(letter) : discarding(letter)
    }

    /// What makes an object due again that a job has given up.
    private static func retrying(_ letter: JobRecord) -> [JobWrite] {
        guard case .consumerDeadLetters? = JobSpace(of: letter.key.space) else {
            return [JobWrite(letter.key, .remove, if: .value(letter.value))]
        }
        // The consumer is told by the time, and removes the letter when it has handled the object.
        return [JobWrite(letter.key, .set(.after(0), value: letter.value), if: .value(letter.value))]
    }

    /// What has nobody told any more of an object that a job has given up. A row of a queue stays dead until it changes.
    private static func discarding(_ letter: JobRecord) -> [JobWrite] {
        let removal = JobWrite(letter.key, .remove, if: .value(letter.value))
        guard case .queueDeadLetters? = JobSpace(of: letter.key.space) else { return [removal] }
        let queue = String(letter.key.space.dropFirst(QueueClaim.deadPrefix.count))
        let mark = JobRecord.Key(space: QueueClaim.discardedSpace(queue), name: letter.key.name)
        return [removal, JobWrite(mark, .set(.never, value: letter.value))]
    }
}
