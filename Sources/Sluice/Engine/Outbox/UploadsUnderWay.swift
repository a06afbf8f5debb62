internal import SluiceModel

/// The size of an upload.
struct UploadSize {
    var operationCount = 0
    var data = DataSize()

    init() {}

    init(_ changeset: Changeset) {
        operationCount = changeset.operationCount
        data = changeset.dataSize
    }

    static func + (left: UploadSize, right: UploadSize) -> UploadSize {
        var sum = left
        sum.operationCount += right.operationCount
        sum.data += right.data
        return sum
    }

    static func - (left: UploadSize, right: UploadSize) -> UploadSize {
        var rest = left
        rest.operationCount -= right.operationCount
        rest.data = rest.data - right.data
        return rest
    }
}

/// The uploads that are sent and not acknowledged, with their total size.
struct UploadsUnderWay {
    private var uploads: [(sequence: UInt64, size: UploadSize, classes: [Int])] = []
    /// The uploads before this position are acknowledged.
    private var head = 0
    private(set) var size = UploadSize()

    /// The first and the last; nil if there is none.
    var range: ClosedRange<UInt64>? {
        guard head < uploads.count, let last = uploads.last else { return nil }
        return uploads[head].sequence...last.sequence
    }

    /// Adds the next upload.
    ///
    /// - Parameter classes: the classes of the objects that it changes, by position in the store's schema.
    mutating func append(_ sequence: UInt64, _ added: UploadSize, classes: [Int]) {
        uploads.append((sequence, added, classes))
        size = size + added
    }

    /// Whether the uploads up to `sequence` change objects of classes that meet a condition.
    func changes(through sequence: UInt64, where meets: (_ classIndex: Int) -> Bool) -> Bool {
        for upload in uploads[head...].prefix(while: { $0.sequence <= sequence })
        where upload.classes.contains(where: meets) {
            return true
        }
        return false
    }

    /// Removes the acknowledged uploads. Amortised O(1) for each upload.
    ///
    /// - Returns: how much they were.
    @discardableResult
    mutating func remove(through sequence: UInt64) -> TransferAmount {
        let before = size
        while head < uploads.count, uploads[head].sequence <= sequence {
            size = size - uploads[head].size
            head += 1
        }
        let removed = before - size
        if head > uploads.count / 2 {
            uploads.removeFirst(head)
            head = 0
        }
        return TransferAmount(rowCount: removed.operationCount, byteCount: removed.data.byteCount)
    }
}
