//! Runs Goose without loadgen, written as Goose's users write it and with Goose's own options: a
//! peer in `make bench`.

use goose::prelude::*;

async fn get(user: &mut GooseUser) -> TransactionResult {
    user.get("").await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), GooseError> {
    GooseAttack::initialize()?
        .register_scenario(scenario!("plain").register_transaction(transaction!(get)))
        .execute()
        .await?;
    Ok(())
}
