package import SluiceModel
package import SluiceQuery

/// Keeps the result of one canonical query current from commit group to commit group.
///
/// A view is a shape, which all views of the query's form share, the constants of its query, and its state. What the
/// state holds depends on the query: without a limit no roots, since the predicate decides what is a root; with a limit
/// the first rows and some beyond them; with DISTINCT, or SORT after LIMIT, everything that matches. If the query
/// follows links, the view holds the linked objects. Only the thread that runs the database may use a view. A view
/// reads only from the source that it is given, and sees there what the query's context allows.
package final class LiveView {
    // The fields of less than eight bytes stand behind the query, whose size leaves room for them: there may be a
    // million views.
    package let query: Query
    private var marks: Marks = []
    /// The number in an index; ``noSlot`` if there is none.
    private var filedSlot = LiveView.noSlot
    package let shape: ViewShape
    var roots = RootState.matches
    /// The objects that links lead to; nil if the query follows no links.
    var closure: LinkClosure?
    private var knownJudge: RootMatcher?

    private static var noSlot: UInt32 { .max }

    /// Three marks and, in the other bits, a position that ``filed`` explains.
    private struct Marks: OptionSet {
        var rawValue: UInt16

        static let isActive = Marks(rawValue: 1)
        static let isRecent = Marks(rawValue: 2)
        static let followsWindow = Marks(rawValue: 4)

        subscript(mark: Marks) -> Bool {
            get { contains(mark) }
            set { if newValue { insert(mark) } else { remove(mark) } }
        }

        var position: UInt16 {
            get { rawValue >> 3 }
            set {
                precondition(newValue <= .max >> 3, "a view has more than 8,000 covers")
                rawValue = rawValue & 7 | newValue << 3
            }
        }
    }

    /// Whether the view is at the current state; see ``activate(in:)``.
    package internal(set) var isActive: Bool {
        get { marks[.isActive] }
        set { marks[.isActive] = newValue }
    }

    /// Whether the view is among those that an index has evaluated lately.
    var isRecent: Bool {
        get { marks[.isRecent] }
        set { marks[.isRecent] = newValue }
    }

    /// Where an index has filed the view.
    var filed: FiledPlace? {
        // The position is 0 if changes do not find the view by itself, and 2 more than that of the cover if they do.
        get {
            guard filedSlot != Self.noSlot else { return nil }
            return FiledPlace(
                slot: filedSlot, cover: max(-1, Int16(marks.position) - 2), isFiled: marks.position > 0,
                followsWindow: marks[.followsWindow])
        }
        set {
            filedSlot = newValue?.slot ?? Self.noSlot
            marks.position = newValue.map { $0.isFiled ? UInt16($0.cover + 2) : 0 } ?? 0
            marks[.followsWindow] = newValue?.followsWindow ?? false
        }
    }

    /// - Parameters:
    ///   - query: the query, checked against the shape's schema. When the schema grows, a new view replaces this one.
    ///   - shape: the shape of the query's form; see ``ViewShapes``.
    ///   - overscan: how many rows beyond the limit a window holds after it has read from the source; nil for as many
    ///     as the limit, but at least 16 and at most 256.
    package init(_ query: Query, shape: ViewShape, overscan: Int? = nil) {
        self.query = query.sharing(shape.form).read(in: query.context.sharing(shape.context))
        self.shape = shape
        if let overscan { roots = .expected(.init(overscan: overscan)) }
    }

    /// A view with a shape of its own.
    package convenience init(_ query: Query, schema: Schema, overscan: Int? = nil) {
        self.init(query, shape: ViewShape(query.form, in: query.context, schema: schema), overscan: overscan)
    }

    /// A copy of a view in the same state, which can then change independently.
    init(copying other: LiveView) {
        query = other.query
        shape = other.shape
        roots = other.roots.copy()
        closure = other.closure?.copy()
        knownJudge = other.knownJudge
        isActive = other.isActive
    }

    /// A view of the same query in another context, which takes over a state that is right there. The other view must
    /// not be used any more.
    init(switching other: LiveView, to query: Query, shape: ViewShape) {
        self.query = query.sharing(shape.form).read(in: query.context.sharing(shape.context))
        self.shape = shape
        roots = other.roots
        closure = other.closure?.copy(following: shape.plan)
        isActive = other.isActive
    }

    /// A copy in the same state, for another thread to read members with. It shares memory with the view until that
    /// changes.
    package func copyForReading() -> LiveView {
        let copy = LiveView(copying: self)
        copy.forgetJudge()
        return copy
    }

    package var schema: Schema { shape.schema }

    var plan: ClosurePlan { shape.plan }

    var evaluator: Evaluator { judge.evaluator }

    /// Made when it is first needed; see ``forgetJudge()``.
    var judge: RootMatcher {
        if let knownJudge { return knownJudge }
        let made = RootMatcher(query, shape: shape)
        knownJudge = made
        return made
    }

    /// Frees the memory of the evaluator until it is needed again.
    package func forgetJudge() { knownJudge = nil }

    /// Whether the view keeps anything in memory: a window or linked objects.
    package var holdsMembers: Bool { query.isPartial || plan.followsLinks }

    /// Says how many objects match the query in the state in which the view will be activated, so that it need not count.
    package func expect(matchCount: Int) {
        guard !isActive else { return }
        var expectation = expectation
        expectation.matchCount = matchCount
        roots = .expected(expectation)
    }

    private var expectation: RootState.Expectation {
        if case .expected(let known) = roots { known } else { .init() }
    }

    /// Reads from `source` what the view holds; the view is then at the state of `source`. It reads all roots if the
    /// query follows links or computes something, the rows of a window if there is a limit, and else nothing.
    package func activate(in source: any ViewSource) throws {
        let source = readable(source)
        let expectation = expectation
        roots = .matches
        closure = nil
        roots = try RootState(judge, expectation, in: source)
        if plan.followsLinks {
            let closure = LinkClosure(plan: plan)
            if let held = heldRoots {
                for object in held {
                    if let row = try source.row(object) { closure.addRoot(row, ofClass: object.classIndex) }
                }
            } else {
                try closure.addRoots(matching: query, in: source)
            }
            try closure.finishBuilding(in: source)
            self.closure = closure
        }
        isActive = true
    }

    /// How many objects match the query, as its reader sees them; nil unless the query asks for its total.
    package var matchCount: Int? {
        switch roots {
        case .counted(let count): count
        case .unshown(let count): count
        case .window(let window): window.matchCount
        case .matches, .expected, .object, .stages, .figures: nil
        }
    }

    /// What the query computes, as its reader sees it: groups in no particular order; nil unless it has AGGREGATE.
    package var figures: [GroupFigures]? { if case .figures(let figures) = roots { figures.table.shown } else { nil } }

    /// A state as the view's reader sees it.
    func readable(_ source: any ViewSource) -> any ViewSource {
        query.context.isEverything ? source : ReadableSource(source, in: query.context)
    }

    /// A state as the view's reader sees it.
    func readable(_ source: any ObjectSource) -> any ObjectSource {
        query.context.isEverything ? source : ReadableObjects(source, in: query.context)
    }
}
