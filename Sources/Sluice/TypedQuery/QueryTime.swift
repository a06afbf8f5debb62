internal import FoundationEssentials
internal import SluiceModel
internal import SluiceQuery

/// The time at which a query is evaluated: `$now` in the query language.
///
/// ```swift
/// store.objects(Order.self).where { $0.dueAt < QueryTime.now }
/// store.objects(Message.self).where { $0.sentAt >= QueryTime.now - .seconds(3_600) }
/// ```
///
/// An object enters the results, or leaves them, when its time comes. `Date.now`, in contrast, is a constant, the time at
/// which the query was made; `.now` beside a property of dates is that. So write the name of this type.
public struct QueryTime: Hashable, Sendable {
    /// Microseconds.
    private let offset: Int64

    /// The time at which the query is evaluated.
    public static let now = QueryTime(offset: 0)

    /// A time that is so much later.
    public static func + (time: QueryTime, span: Duration) -> QueryTime {
        QueryTime(offset: Timestamp(microseconds: time.offset).advanced(by: span).microseconds)
    }

    /// A time that is so much earlier.
    public static func - (time: QueryTime, span: Duration) -> QueryTime { time + (.zero - span) }

    fileprivate var literal: LiteralSyntax { LiteralSyntax(.now(offset: offset)) }
}

/// What compares with the time of a query.
public protocol DateComparand {}

extension Date: DateComparand {}
extension Timestamp: DateComparand {}

/// Comparisons with the time at which the query is evaluated.
extension Column where Value: PropertyValue, Value.Comparand: DateComparand {
    /// A condition that holds from when the time is later than the date; it does not hold for null.
    @_disfavoredOverload
    public static func < (column: Column, time: QueryTime) -> Condition {
        column.compared(.less, to: .literal(time.literal))
    }

    /// A condition that holds from when the time has reached the date; it does not hold for null.
    @_disfavoredOverload
    public static func <= (column: Column, time: QueryTime) -> Condition {
        column.compared(.lessOrEqual, to: .literal(time.literal))
    }

    /// A condition that holds until the time reaches the date; it does not hold for null.
    @_disfavoredOverload
    public static func > (column: Column, time: QueryTime) -> Condition {
        column.compared(.greater, to: .literal(time.literal))
    }

    /// A condition that holds until the time is later than the date; it does not hold for null.
    @_disfavoredOverload
    public static func >= (column: Column, time: QueryTime) -> Condition {
        column.compared(.greaterOrEqual, to: .literal(time.literal))
    }

    /// A condition that holds until the time reaches the date; it does not hold for null.
    @_disfavoredOverload
    public static func < (time: QueryTime, column: Column) -> Condition { column > time }

    /// A condition that holds until the time is later than the date; it does not hold for null.
    @_disfavoredOverload
    public static func <= (time: QueryTime, column: Column) -> Condition { column >= time }

    /// A condition that holds from when the time is later than the date; it does not hold for null.
    @_disfavoredOverload
    public static func > (time: QueryTime, column: Column) -> Condition { column < time }

    /// A condition that holds from when the time has reached the date; it does not hold for null.
    @_disfavoredOverload
    public static func >= (time: QueryTime, column: Column) -> Condition { column <= time }

    /// A condition that holds while the date lies between two times that move on, or equals one of them; it does not hold
    /// for null.
    public func between(_ first: QueryTime, and last: QueryTime) -> Condition {
        compared(.between, to: .list([first.literal, last.literal]))
    }
}
