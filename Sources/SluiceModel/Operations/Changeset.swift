/// One client transaction, as it is uploaded to the server.
package struct Changeset: Sendable {
    /// The client's own number of the transaction, ascending from 1.
    package var sequence: UInt64
    /// The server version that the client had when it made the transaction.
    package var baseVersion: UInt64
    /// When the client made the transaction, by its hybrid clock.
    package var timestamp: HybridTimestamp
    private var content: Content
    /// What a job changes of what a database keeps of it, together with the operations or not at all.
    package var jobs: [JobWrite] = []
    /// Why a server cannot read the operations, which are none then; nil if it can.
    package var problem: String?

    private enum Content: Sendable {
        case operations([ObjectOperation])
        case creations(Creations)
    }

    package init(
        sequence: UInt64, baseVersion: UInt64, timestamp: HybridTimestamp, operations: [ObjectOperation]
    ) {
        self.sequence = sequence
        self.baseVersion = baseVersion
        self.timestamp = timestamp
        content = .operations(operations)
    }

    /// O(1), or O(values) where ``creations`` are all there is.
    package var operations: [ObjectOperation] {
        get {
            switch content {
            case .operations(let operations): operations
            case .creations(let creations): creations.operations
            }
        }
        set { content = .operations(newValue) }
    }

    /// The operations, where they came as one run of creations and nobody has changed them; else nil.
    package var creations: Creations? {
        get { if case .creations(let creations) = content { creations } else { nil } }
        set { if let newValue { content = .creations(newValue) } }
    }

    /// Makes operations of ``creations`` once, for who asks for them more than once.
    package mutating func expand() { operations = operations }

    /// The object of each operation, in order.
    package var objects: [ObjectRef] {
        switch content {
        case .operations(let operations): operations.map(\.object)
        case .creations(let creations): creations.keys.map { ObjectRef(creations.classIndex, $0) }
        }
    }

    /// How many operations there are. O(1).
    package var operationCount: Int {
        switch content {
        case .operations(let operations): operations.count
        case .creations(let creations): creations.count
        }
    }
}

extension Changeset: Hashable {
    package static func == (left: Changeset, right: Changeset) -> Bool {
        left.sequence == right.sequence && left.baseVersion == right.baseVersion && left.timestamp == right.timestamp
            && left.problem == right.problem && left.jobs == right.jobs && left.operations == right.operations
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(sequence)
        hasher.combine(baseVersion)
        hasher.combine(timestamp)
    }
}
