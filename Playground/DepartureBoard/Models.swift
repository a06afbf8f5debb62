import Foundation
import Sluice

@Model struct Airline {
    @PrimaryKey var carrier: String
    var name = ""
}

@Model struct Airport {
    @PrimaryKey var faa: String
    var name = ""
}

@Model struct Plane {
    @PrimaryKey var tailnum: String
    var manufacturer = ""
    var model = ""
    var seats = 0
}

@Model struct Flight {
    /// When the flight is to leave.
    @Indexed var scheduled: Date
    var number: Int = 0
    var airline: Link<Airline>?
    var plane: Link<Plane>?
    var origin: Link<Airport>?
    var destination: Link<Airport>?
    /// The delay in minutes; null until somebody knows it.
    var delay: Int?
    var hasDeparted = false
}

extension Flight {
    /// The airline's two letters.
    var airlineCode: String { airline?.key?.description ?? "??" }
}
