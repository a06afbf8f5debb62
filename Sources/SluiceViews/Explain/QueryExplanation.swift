/// Explains what a query means and costs: its canonical form, the SQL that it compiles to and how SQLite runs it, how a
/// change finds the live view, what the view holds, and what a write to each property costs.
///
/// ``description`` is for people, ``json`` for programs.
public struct QueryExplanation: Sendable, Hashable, Codable {
    /// A SQL statement, and how SQLite runs it.
    public struct Plan: Sendable, Hashable, Codable {
        /// The statement, with the placeholders `?1`, `?2` … for constants.
        public let sql: String
        /// The values of the placeholders, as SQL literals; long ones are cut.
        public let parameters: [String]
        /// SQLite's steps; a step within another is indented by two more spaces.
        public let steps: [String]
        /// The indexes that the statement uses, each once.
        public let indexes: [Index]

        package init(sql: String, parameters: [String], steps: [String], indexes: [Index]) {
            self.sql = sql
            self.parameters = parameters
            self.steps = steps
            self.indexes = indexes
        }

        /// Whether SQLite finds and sorts all results before it returns the first.
        package var sorts: Bool { steps.contains("USE TEMP B-TREE FOR ORDER BY") }
    }

    /// An index of a table.
    public struct Index: Sendable, Hashable, Codable {
        /// Why an index exists.
        public enum Origin: String, Sendable, Hashable, Codable {
            /// For a primary key or the object ids.
            case key
            /// For a link, to follow it backwards.
            case link
            /// Declared in the schema.
            case declared
            /// Made by the server for queries that clients observe.
            case automatic
        }

        /// The index's name in SQLite.
        public let name: String
        /// The class whose objects it finds.
        public let className: String
        /// The properties, in the order of the index; a descending one ends with ` DESC`.
        public let properties: [String]
        /// Why the index exists.
        public let origin: Origin

        package init(name: String, className: String, properties: [String], origin: Origin) {
            self.name = name
            self.className = className
            self.properties = properties
            self.origin = origin
        }
    }

    /// What the live view holds, and how changes find it.
    public struct View: Sendable, Hashable, Codable {
        /// How a change finds the live view.
        public enum Method: String, Sendable, Hashable, Codable {
            /// By a property's value.
            case equality
            /// By one of several values of a property.
            case list
            /// By the beginning of a property's value.
            case prefix
            /// By the end of a property's value, or by a part of it.
            case part
            /// By a range that a property's value lies in.
            case range
            /// By a condition on a property of a linked object.
            case link
            /// By a value that is computed from an object and what it is linked with, such as a count.
            case computed
            /// By several conditions, of which every result meets at least one.
            case alternatives
            /// By the class alone: every change of the class finds the view.
            case scan
        }

        /// How changes of the queried class find the view.
        public let method: Method
        /// The property of the condition that the view is filed under; nil for `scan`, `link`,
        /// `computed` and `alternatives`.
        public let property: String?
        /// The condition that the view is filed under, in the query language; nil for `scan`.
        public let condition: String?
        /// Further classes. Every change of an object of these classes finds the view if it changes a property that the
        /// query reads.
        public let otherClasses: [String]
        /// Whether the view holds anything in memory: a window, or linked objects.
        public let holdsMembers: Bool
        /// How many rows a window holds at most, including those that it holds beyond the limit; nil without a limit, and
        /// with `LIMIT(0)`, which holds no rows.
        public let windowCapacity: Int?
        /// True where the view counts what matches, for TOTAL, so that changes beyond the window concern it too; else nil.
        public let counts: Bool?
        /// What the view computes, such as `@avg.delay`; nil unless the query has AGGREGATE.
        public let computes: [String]?
        /// The paths whose values make the groups that it is computed of; nil unless the query has GROUP.
        public let groups: [String]?
        /// The classes of the objects that results link to.
        public let linkedClasses: [String]
    }

    /// What a write to a property makes the view do.
    public enum Effect: String, Sendable, Hashable, Codable {
        /// Evaluates the predicate on the object.
        case evaluatesPredicate
        /// Moves the object within, into or out of the window.
        case movesInWindow
        /// Finds the results that read the property through links, by following the links backwards, and evaluates the
        /// predicate on them.
        case findsRoots
        /// Follows the links again, since the linked objects may be others.
        case walksLinks
        /// Sends the new value, if the object is in the view.
        case sendsValue
        /// Takes what the object had from what the query computes, and adds what it has.
        case computesFigure
    }

    /// What a write to one property costs.
    public struct WriteCost: Sendable, Hashable, Codable {
        /// The class that is written to.
        public let className: String
        /// The property that is written.
        public let property: String
        /// The effects; empty if the write costs nothing.
        public let effects: [Effect]
    }

    /// The query in canonical form.
    public let query: String
    /// The first 128 bits of the query's SHA-256, in hexadecimal digits.
    public let hash: String
    /// How the store runs the query; nil for a query of one object by its id, which is a lookup without a statement, and
    /// for one that shows no objects, as with `LIMIT(0)`.
    public let plan: Plan?
    /// How the store counts what matches, once when a view begins that counts; nil unless the query has TOTAL.
    public let totalPlan: Plan?
    /// The live view, which the server holds while a client observes the query.
    public let view: View
    /// The cost of writing each property of each class that concerns the query.
    public let writes: [WriteCost]
    /// The indexes that a server would make for the query if clients observed it and the class were large.
    public let wantedIndexes: [Index]
    /// Why the server has not made the wanted index; nil if it has, or if none is wanted.
    public let wantedIndexRemark: String?
}
