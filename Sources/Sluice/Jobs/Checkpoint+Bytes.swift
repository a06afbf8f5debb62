public import SluiceModel
internal import SluiceWire

extension Checkpoint {
    /// The checkpoint in a form to be stored, which every later version reads.
    public var bytes: [UInt8] { wireBytes() }

    /// Reads a checkpoint that was stored.
    ///
    /// - Throws: ``JobError/Code/newerFormat`` if a newer version has stored it; ``JobError/Code/invalidCheckpoint`` if the
    ///   bytes are none.
    public init(bytes: [UInt8]) throws {
        do throws(WireError) { try self.init(wireBytes: bytes) } catch {
            guard error.code == .unknownFormat else {
                throw JobError(
                    .invalidCheckpoint, "these \(bytes.count) bytes are no checkpoint: \(error.message)", cause: error)
            }
            throw JobError(
                .newerFormat, "the checkpoint was stored by a newer version of Sluice: \(error.message)", cause: error)
        }
    }
}
